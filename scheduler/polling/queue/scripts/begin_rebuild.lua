-- Forgets the cards and their order, and lets claiming wait until all are put again and the rebuild is complete. Claims
-- and requests stay.

redis.call('UNLINK', READY, QUEUE, CARDS)
