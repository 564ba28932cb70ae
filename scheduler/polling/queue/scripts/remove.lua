-- Takes cards out of everything; what their claims bring is stale. ARGV: the cards. Returns how many there were.

for _, key in ipairs({ QUEUE, PRIORITY, RUNNING }) do redis.call('ZREM', key, unpack(ARGV)) end
for _, key in ipairs({ ASKED, CLAIMS }) do redis.call('HDEL', key, unpack(ARGV)) end
return redis.call('HDEL', CARDS, unpack(ARGV))
