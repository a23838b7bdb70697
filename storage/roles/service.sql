-- The service records calls, and keeps tokens, approvals and pauses. It cannot change or remove a record, and it
-- cannot read bodies: who takes it over does not learn what was run before.
GRANT SELECT ON alembic_version TO sshfacts_service;
GRANT INSERT ON audit_entry, audit_raw TO sshfacts_service;
-- After a commit whose answer was lost, it looks for its own rows.
GRANT SELECT (writer_id, seq) ON audit_entry TO sshfacts_service;
-- It closes the intents of calls that were cut off.
GRANT SELECT (id, leaf_hash, kind, at, request_id, decision, code, deadline_at) ON audit_entry TO sshfacts_service;
-- It records what a site allows when that is not what was recorded last.
GRANT SELECT (catalogue_digest, policy_digest) ON audit_entry TO sshfacts_service;
GRANT SELECT, INSERT, UPDATE (revoked_at) ON token TO sshfacts_service;
GRANT SELECT, INSERT, UPDATE (state, expires_at, approver, decided_at, consumed_by) ON approval TO sshfacts_service;
GRANT SELECT, INSERT, UPDATE (resumed_by, resumed_at) ON pause TO sshfacts_service;
