-- What is recorded about one request, in the order in which it was written?
--   request_id: text
SELECT at, kind, caller, principal, operation, host, decision, reason, approver, code, stage, detail,
       exit_status, attempts, duration_us, command, host_key, key_fingerprint,
       stdout_bytes, stdout_sha256, stderr_bytes, stderr_sha256, facts_sha256, body
FROM audit_entry
WHERE request_id = :request_id
ORDER BY id;
