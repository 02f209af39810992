-- One event may go to 10,000 subscriptions. Which attempt of an event at a subscription is the last,
-- and whether a job of it waits, is a search by both and not by the event alone.
DROP INDEX cms_webhook_deliveries_by_event;
CREATE INDEX cms_webhook_deliveries_by_event
    ON cms_webhook_deliveries (event_id, subscription_id, id);
DROP INDEX cms_webhook_queue_by_event;
CREATE INDEX cms_webhook_queue_by_event ON cms_webhook_queue (event_id, subscription_id);
