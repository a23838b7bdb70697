-- When was one exact version of an operation in use, and how often?
--   operation_digest: text
SELECT operation, MIN(at) AS first_at, MAX(at) AS last_at, COUNT(*) AS requests
FROM audit_entry
WHERE kind = 'intent' AND operation_digest = :operation_digest
GROUP BY operation;
