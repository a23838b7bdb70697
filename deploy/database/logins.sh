#!/bin/sh
# Makes the logins, each a member of the one role whose rights it needs; run again, it sets their passwords anew.
# PostgreSQL's image runs it once, after storage/roles/create.sql. Passwords come from files and stand in no argument.
set -eu

make_login() {
    PASSWORD_FILE="${SECRETS:-/run/secrets}/database-$1.password" \
        psql --quiet --set=ON_ERROR_STOP=1 --set=login="facts_$1" --set=role="$2" \
        --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\set password `cat "$PASSWORD_FILE"`
SELECT format('CREATE ROLE %I LOGIN', :'login')
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') \gexec
ALTER ROLE :"login" PASSWORD :'password';
GRANT :"role" TO :"login";
SQL
}

make_login service sshfacts_service
make_login migration sshfacts_owner
make_login auditor sshfacts_auditor
make_login purger sshfacts_purger
