-- Who works on a request with an Idempotency-Key: nobody else renews, ends or answers it.
ALTER TABLE cms_idempotency ADD COLUMN claim TEXT;
