-- Gives back the claims that nobody holds any longer, and claims nothing. Returns how many claims are held.

local MOST_EXPIRED = 1000 -- freed at once; those that remain come with the next call
local over = redis.call('ZRANGEBYSCORE', RUNNING, '-inf', now, 'LIMIT', 0, MOST_EXPIRED)
if #over > 0 then
  give_back(over, fields(CLAIMS, over))
  redis.call('HINCRBY', STATE, 'lease_expired', #over)
end
if redis.call('HLEN', CLAIMS) > redis.call('ZCARD', RUNNING) then
  local claims = redis.call('HGETALL', CLAIMS)
  for at = 1, #claims, 2 do
    if not redis.call('ZSCORE', RUNNING, claims[at]) then give_back({ claims[at] }, { claims[at + 1] }) end
  end
end
return redis.call('HLEN', CLAIMS)
