-- Each copy that was removed when its time was over.
CREATE VIEW v1_purge AS
SELECT at, request_id, body, id AS entry
FROM audit_entry
WHERE kind = 'raw_purged';
