-- Claims cards for one second of an account.
-- ARGV: how many cards at most, how many may be claimed at once, the lease, the share of priority in hundredths, within
-- how many microseconds calls are to be made; then the limiter's windows, none where nothing limits the calls.
-- Returns a status, the token of the first card (each further one's is one more), and of each card in turn:
-- card, mask of its due types, failures of each type.

local NOT_READY, ROUND_DONE, CLAIMED = 0, 1, 2
local MOST_EXPIRED = 1000 -- freed at once; those that remain come next second
local most, limit, share, horizon = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
local lease_end = now + tonumber(ARGV[3])

local function free_expired()
  local expired = redis.call('ZRANGEBYSCORE', RUNNING, '-inf', now, 'LIMIT', 0, MOST_EXPIRED)
  if #expired == 0 then return end
  give_back(expired, fields(CLAIMS, expired))
  redis.call('HINCRBY', STATE, 'lease_expired', #expired)
end

-- A card whose lease in the queue has run out although it is claimed: its member in `running` was lost, or only the
-- queue's score was.
local function mend_claimed(card, claim)
  local ends = tonumber(redis.call('ZSCORE', RUNNING, card) or 0)
  if ends > now then
    redis.call('ZADD', QUEUE, ends, card)
    redis.call('ZREM', PRIORITY, card)
  else
    give_back({ card }, { claim })
    redis.call('HINCRBY', STATE, 'lease_expired', 1)
  end
end

-- A card that stands at a wrong place in queue or priority.
local function mend(card, text, claim, asks)
  if claim then return mend_claimed(card, claim) end
  redis.call('ZREM', PRIORITY, card)
  if not text then
    redis.call('ZREM', QUEUE, card)
    redis.call('HDEL', ASKED, card)
    return
  end
  redis.call('ZADD', QUEUE, due_of(read_card(text)), card)
  if asks then redis.call('ZADD', PRIORITY, asked_of(read_asks(asks)), card) end
end

local bits = {}
for mask = 0, 2 ^ TYPES - 1 do
  local rest, count = mask, 0
  while rest > 0 do
    count, rest = count + rest % 2, math.floor(rest / 2)
  end
  bits[mask] = count
end

local function mask_of(card, asks)
  local mask, bit = 0, 1
  for type = 1, TYPES do
    local due, asked = card[2 * type - 1], asks and asks[type] or 0
    if due > 0 and due <= now or asked > 0 and asked <= now then mask = mask + bit end
    bit = bit * 2
  end
  return mask
end

-- The cards at the front of a sorted set that can be taken, and of each its mask, its failures and its requests.
local known = {}
local function lane(key, room)
  local cards = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, room)
  if #cards == 0 then return cards end
  local texts, claims, asked = fields(CARDS, cards), fields(CLAIMS, cards), fields(ASKED, cards)
  local takeable = {}
  for at, id in ipairs(cards) do
    local card = texts[at] and not claims[at] and read_card(texts[at])
    local asks = asked[at] and read_asks(asked[at])
    local mask = card and mask_of(card, asks) or 0
    if mask > 0 then
      known[id] = { card = card, mask = mask, asks = asks }
      takeable[#takeable + 1] = id
    else
      mend(id, texts[at], claims[at], asked[at])
    end
  end
  return takeable
end

-- The requests of a card of which the time has come go with the claim; the others stay.
local function take_asks(card, asks)
  local taken, stay = {}, {}
  for at = 1, TYPES do
    local is_ready = asks[at] > 0 and asks[at] <= now
    taken[at], stay[at] = is_ready and asks[at] or 0, is_ready and 0 or asks[at]
  end
  keep_asks(card, stay)
  redis.call('ZREM', PRIORITY, card)
  return struct.pack(ASKS, unpack(taken, 1, TYPES))
end

-- Chooses cards in turn from both lanes until there are no more cards or calls. While both lanes wait, each card adds
-- the share of priority to a credit, and a full credit buys a card of the priority: so in the long run its share is
-- kept exactly, however few cards a round has.
local function choose(urgent, regular, room, calls, credit)
  local chosen, is_chosen, from_urgent, from_regular = {}, {}, 1, 1
  while #chosen < room and calls > 0 do
    while is_chosen[urgent[from_urgent]] do from_urgent = from_urgent + 1 end
    while is_chosen[regular[from_regular]] do from_regular = from_regular + 1 end
    local card = urgent[from_urgent] or regular[from_regular]
    if not card then break end
    if urgent[from_urgent] and regular[from_regular] then
      credit = credit + share
      if credit >= 100 then credit = credit - 100 else card = regular[from_regular] end
    end
    chosen[#chosen + 1], is_chosen[card] = card, true
    calls = calls - bits[known[card].mask]
  end
  return chosen, credit
end

local function claim(cards, first_token)
  local scores, claims, told = {}, {}, {}
  for at, id in ipairs(cards) do
    local found = known[id]
    local taken = found.asks and take_asks(id, found.asks) or NO_ASKS
    scores[2 * at - 1], scores[2 * at] = lease_end, id
    claims[2 * at - 1], claims[2 * at] = id, struct.pack(CLAIM, first_token + at - 1, found.mask) .. taken
    told[#told + 1], told[#told + 2] = id, found.mask
    for type = 1, TYPES do told[#told + 1] = found.card[2 * type] end
  end
  redis.call('ZADD', QUEUE, unpack(scores))
  redis.call('ZADD', RUNNING, unpack(scores))
  redis.call('HSET', CLAIMS, unpack(claims))
  redis.call('HINCRBY', STATE, 'claimed', #cards)
  return table.concat(told, ' ')
end

if redis.call('EXISTS', READY) == 0 then return { NOT_READY } end
local slot, last_token, credit = unpack(redis.call('HMGET', STATE, 'slot', 'token', 'credit'))
if tonumber(slot or -1) == tonumber(time[1]) then return { ROUND_DONE } end
if redis.call('ZCARD', QUEUE) ~= redis.call('HLEN', CARDS) then
  redis.call('DEL', READY) -- cards were lost: the queue has to be rebuilt
  return { NOT_READY }
end
redis.call('HSET', STATE, 'slot', time[1])
free_expired()

local room = math.min(most, limit - redis.call('ZCARD', RUNNING))
if room <= 0 then return { CLAIMED, 0, '' } end
local urgent, regular = lane(PRIORITY, room), lane(QUEUE, room)
if #urgent + #regular == 0 then return { CLAIMED, 0, '' } end
local calls = #KEYS > 9 and calls_left(10, 6, horizon, room * TYPES) or room * TYPES
local chosen
chosen, credit = choose(urgent, regular, room, calls, tonumber(credit or 0))
if #chosen == 0 then return { CLAIMED, 0, '' } end

local first_token = math.max(tonumber(last_token or 0) + 1, now_microseconds)
redis.call('HSET', STATE, 'token', first_token + #chosen - 1, 'credit', credit)
return { CLAIMED, first_token, claim(chosen, first_token) }
