-- Events in the order in which they become visible, whatever the clocks say. SQLite has one writer
-- and numbers rows by itself. PostgreSQL notes the transaction: all below the oldest that is under
-- way are final.
{{event_order}}
