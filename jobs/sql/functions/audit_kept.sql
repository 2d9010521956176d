-- ojs_audit_kept: refuse to change or delete entries of the audit log, whoever asks. Retention alone may
-- delete: it says so by a setting of its own transaction.
CREATE OR REPLACE FUNCTION ojs_audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('ojs.audit_removal', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are never changed'
          USING ERRCODE = 'insufficient_privilege';
END $$
