-- The purger removes raw copies whose time is over, wraps their keys anew, and records both. It cannot read a copy.
GRANT SELECT ON alembic_version TO sshfacts_purger;
GRANT INSERT, SELECT (writer_id, seq) ON audit_entry TO sshfacts_purger;
GRANT DELETE, UPDATE (kek_id, wrapped_dek) ON audit_raw TO sshfacts_purger;
GRANT SELECT (blob_id, request_id, stream, retain_until, kek_id, wrapped_dek) ON audit_raw TO sshfacts_purger;
