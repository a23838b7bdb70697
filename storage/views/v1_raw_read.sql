-- Each reading of a copy: by a person (`read`), or to judge it again (`replay`).
CREATE VIEW v1_raw_read AS
SELECT at, request_id, reason AS purpose, operation, host, body, id AS entry
FROM audit_entry
WHERE kind = 'raw_read';
