-- Which requests got one exact output, and what was made of it?
--   stdout_sha256: text
SELECT outcome.at, outcome.request_id, intent.caller, intent.principal, intent.operation, intent.host,
       outcome.code, outcome.detail, outcome.facts_sha256
FROM audit_entry AS outcome
LEFT JOIN audit_entry AS intent
       ON intent.request_id = outcome.request_id AND intent.kind = 'intent'
WHERE outcome.kind = 'outcome' AND outcome.stdout_sha256 = :stdout_sha256
ORDER BY outcome.at;
