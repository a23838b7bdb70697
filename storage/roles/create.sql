-- The roles of the record. An administrator runs this once for each database, and may run it again:
--
--   createdb --encoding=UTF8 --template=template0 audit
--   sshfacts database roles | psql --set=ON_ERROR_STOP=1 --single-transaction audit
--
-- Nobody logs in as one of these. A login is a member of the role whose rights it needs, and of no other:
--
--   CREATE ROLE facts_service LOGIN PASSWORD '...' IN ROLE sshfacts_service;
--   CREATE ROLE facts_migration LOGIN PASSWORD '...' IN ROLE sshfacts_owner;
--
-- What each role may do stands in the file of its name beside this one, and is granted by each upgrade.

DO $$
DECLARE
    role_name text;
    role_names text[] := ARRAY[
        'sshfacts_owner',       -- owns the tables; for `sshfacts database upgrade` and for nothing else
        'sshfacts_service',     -- records calls; cannot read what it recorded
        'sshfacts_sealer',      -- orders and signs; cannot add a record
        'sshfacts_purger',      -- removes raw copies whose time is over
        'sshfacts_raw_reader',  -- reads raw copies, and records that first
        'sshfacts_auditor'      -- reads everything but raw copies and the hashes of tokens
    ];
BEGIN
    FOREACH role_name IN ARRAY role_names LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        END IF;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role_name);
        EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', role_name);
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CREATE ON SCHEMA public TO sshfacts_owner;
