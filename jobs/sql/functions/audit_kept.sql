-- ojs_audit_kept: refuse to change or delete entries of the audit log, for every role. Only
-- retention may delete: it sets a setting in its own transaction.
CREATE OR REPLACE FUNCTION ojs_audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('ojs.audit_removal', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are never changed'
          USING ERRCODE = 'insufficient_privilege';
END $$
