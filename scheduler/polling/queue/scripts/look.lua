-- Tells all about a card, and changes nothing. ARGV: the card. Returns nothing for a card that is not here, else:
-- now, score in the queue, how many are before it, its score in priority, the end of its lease, token and types of its
-- claim (scores -1, token 0: none), its executor, then of each type when it is due and its failures, then of each type
-- from when it is asked for.

local function score(key)
  return redis.call('ZSCORE', key, ARGV[1]) or '-1'
end

local text, claim = redis.call('HGET', CARDS, ARGV[1]), redis.call('HGET', CLAIMS, ARGV[1])
if not text then return {} end
claim = claim and read_claim(claim) or { token = 0, mask = 0, executor = '' }
local told = { now, score(QUEUE), redis.call('ZRANK', QUEUE, ARGV[1]) or -1, score(PRIORITY), score(RUNNING) }
told[6], told[7], told[8] = claim.token, claim.mask, claim.executor
local card, asks = read_card(text), read_asks(redis.call('HGET', ASKED, ARGV[1]))
for at = 1, 2 * TYPES do told[#told + 1] = card[at] end
for at = 1, TYPES do told[#told + 1] = asks[at] end
return told
