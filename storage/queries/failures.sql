-- Which calls ran and gave no facts, from `since` to before `until`, and at which stage did they end?
--   since: instant
--   until: instant
SELECT outcome.at, outcome.request_id, intent.caller, intent.operation, intent.host,
       outcome.code, outcome.stage, outcome.detail, outcome.exit_status, outcome.attempts,
       outcome.stdout_bytes, outcome.stdout_sha256, outcome.stderr_sha256
FROM audit_entry AS outcome
LEFT JOIN audit_entry AS intent
       ON intent.request_id = outcome.request_id AND intent.kind = 'intent'
WHERE outcome.kind = 'outcome' AND outcome.code <> 'success' AND outcome.at >= :since AND outcome.at < :until
ORDER BY outcome.at;
