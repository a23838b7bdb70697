-- The encrypted copies of outputs that are kept now.
CREATE VIEW v1_raw_copy AS
SELECT blob_id, request_id, stream, retain_until, kek_id AS key
FROM audit_raw;
