-- Which hosts were entered with one key, from `since` to before `until`, and for whom?
--   key_fingerprint: text
--   since: instant
--   until: instant
SELECT outcome.at, outcome.request_id, intent.caller, intent.operation, intent.host, outcome.host_key, outcome.code
FROM audit_entry AS outcome
LEFT JOIN audit_entry AS intent
       ON intent.request_id = outcome.request_id AND intent.kind = 'intent'
WHERE outcome.kind = 'outcome' AND outcome.key_fingerprint = :key_fingerprint
  AND outcome.at >= :since AND outcome.at < :until
ORDER BY outcome.at;
