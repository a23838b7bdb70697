-- One row for each request: what was asked, what was decided, and what became of it.
CREATE VIEW v1_request AS
SELECT intent.request_id, intent.at, intent.caller, intent.principal, intent.operation, intent.host, intent.effect,
       intent.decision, intent.reason, intent.approver,
       COALESCE(outcome.code, intent.code, 'may have run') AS result,
       COALESCE(outcome.stage, intent.stage) AS stage,
       COALESCE(outcome.detail, intent.detail) AS detail,
       outcome.at AS finished_at, outcome.exit_status, outcome.attempts, outcome.duration_us, intent.command,
       outcome.host_key, outcome.key_fingerprint,
       intent.catalogue_digest, intent.operation_digest, intent.service_version,
       outcome.stdout_bytes, outcome.stdout_sha256, outcome.stderr_bytes, outcome.stderr_sha256, outcome.facts_sha256,
       intent.deadline_at, intent.id AS intent_entry, outcome.id AS outcome_entry
FROM audit_entry AS intent
LEFT JOIN audit_entry AS outcome
       ON outcome.id = (SELECT MIN(first.id) FROM audit_entry AS first
                         WHERE first.request_id = intent.request_id AND first.kind = 'outcome')
WHERE intent.kind = 'intent';
