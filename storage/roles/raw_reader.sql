-- The raw reader reads raw copies for a person, who is known by a token, and records that first.
GRANT SELECT ON alembic_version, audit_raw TO sshfacts_raw_reader;
GRANT INSERT, SELECT ON audit_entry TO sshfacts_raw_reader;
GRANT SELECT ON token TO sshfacts_raw_reader;
