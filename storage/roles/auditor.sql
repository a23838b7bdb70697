-- The auditor reads the record and the state beside it, but no raw copy and no hash of a token. It runs nothing.
GRANT SELECT ON alembic_version, audit_entry, audit_leaf, audit_tile, audit_checkpoint TO sshfacts_auditor;
GRANT SELECT ON approval, pause TO sshfacts_auditor;
GRANT SELECT ON v1_request, v1_refusal, v1_open, v1_approval, v1_writer, v1_checkpoint TO sshfacts_auditor;
GRANT SELECT ON v1_raw_copy, v1_raw_read, v1_purge TO sshfacts_auditor;
GRANT SELECT (id, caller, person, created_at, revoked_at) ON token TO sshfacts_auditor;
GRANT SELECT (blob_id, request_id, stream, retain_until, kek_id) ON audit_raw TO sshfacts_auditor;
