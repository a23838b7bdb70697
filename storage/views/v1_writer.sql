-- Each start and stop of what writes the record.
CREATE VIEW v1_writer AS
SELECT at, kind, writer_id, service_version, catalogue_digest, id AS entry
FROM audit_entry
WHERE kind IN ('writer_start', 'writer_stop');
