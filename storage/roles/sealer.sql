-- The sealer gives records their order and signs it. It cannot add a record.
GRANT SELECT ON alembic_version, audit_entry TO sshfacts_sealer;
GRANT SELECT, INSERT ON audit_leaf, audit_tile, audit_checkpoint TO sshfacts_sealer;
