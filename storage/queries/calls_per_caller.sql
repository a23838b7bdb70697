-- How much did each caller ask for, from `since` to before `until`, and how much of it was refused?
--   since: instant
--   until: instant
SELECT caller, COUNT(*) AS requests, SUM(CASE WHEN decision <> 'allow' THEN 1 ELSE 0 END) AS refused,
       MIN(at) AS first_at, MAX(at) AS last_at
FROM audit_entry
WHERE kind = 'intent' AND at >= :since AND at < :until
GROUP BY caller
ORDER BY requests DESC, caller;
