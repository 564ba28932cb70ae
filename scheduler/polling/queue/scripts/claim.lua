-- Claims cards for one second of an account.
-- ARGV: how many cards at most, how many may be claimed at once, the lease, the share of priority in hundredths, within
-- how many microseconds calls are to be made; then the limiter's windows, none where nothing limits the calls.
-- Returns a status, the token of the first card (each further one's is one more), and of each card in turn: card, mask
-- of its due types, failures of each type with commas between (- where none has any).

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

local function failures_of(card)
  local failures = {}
  for type = 1, TYPES do failures[type] = card[2 * type] end
  return table.concat(failures, ',')
end

-- A card of which something is due or asked for; nil: nothing is.
local function due_card(id, text, asked)
  local card, asks = read_card(text), asked and read_asks(asked)
  local mask, calls, bit, has_failed = 0, 0, 1, false
  for type = 1, TYPES do
    local due, wanted = card[2 * type - 1], asks and asks[type] or 0
    if due > 0 and due <= now or wanted > 0 and wanted <= now then mask, calls = mask + bit, calls + 1 end
    bit = 2 * bit
    has_failed = has_failed or card[2 * type] > 0
  end
  if calls == 0 then return nil end
  return { id = id, mask = mask, calls = calls, asks = asks, failures = has_failed and failures_of(card) or '-' }
end

-- The cards at the front of a sorted set that can be taken. `known` has those that the other lane found.
local function lane(key, room, known)
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, room)
  if #ids == 0 then return ids end
  local texts, claims, asked = fields(CARDS, ids), fields(CLAIMS, ids), fields(ASKED, ids)
  local cards, count = {}, 0
  for at, id in ipairs(ids) do
    local card = known[id]
    if not card and texts[at] and not claims[at] then card = due_card(id, texts[at], asked[at]) end
    if card then
      count = count + 1
      cards[count] = card
    else
      mend(id, texts[at], claims[at], asked[at])
    end
  end
  return cards
end

local function by_id(cards)
  local known = {}
  for _, card in ipairs(cards) do known[card.id] = card end
  return known
end

-- Chooses cards in turn from both lanes until there are no more cards or calls. While both lanes wait, each card adds
-- the share of priority to a credit, and a full credit buys a card of the priority: so in the long run its share is
-- kept exactly, however few cards a round has.
local function choose(urgent, regular, room, calls, credit)
  local chosen, next_urgent, next_regular = {}, 1, 1
  while #chosen < room and calls > 0 do
    while urgent[next_urgent] and urgent[next_urgent].is_chosen do next_urgent = next_urgent + 1 end
    while regular[next_regular] and regular[next_regular].is_chosen do next_regular = next_regular + 1 end
    local card = urgent[next_urgent] or regular[next_regular]
    if not card then break end
    if urgent[next_urgent] and regular[next_regular] then
      credit = credit + share
      if credit >= 100 then credit = credit - 100 else card = regular[next_regular] end
    end
    card.is_chosen = true
    chosen[#chosen + 1] = card
    calls = calls - card.calls
  end
  return chosen, credit
end

-- The requests of a card of which the time has come go with the claim; the others stay.
local function take_asks(card)
  local taken, stay = {}, {}
  for at, instant in ipairs(card.asks) do
    local has_come = instant > 0 and instant <= now
    taken[at], stay[at] = has_come and instant or 0, has_come and 0 or instant
  end
  keep_asks(card.id, stay)
  redis.call('ZREM', PRIORITY, card.id)
  return struct.pack(ASKS, unpack(taken, 1, TYPES))
end

local function claim(cards, first_token)
  local score = string.format('%.0f', lease_end) -- once, else Redis writes each of them out
  local scores, claims, told = {}, {}, {}
  for at, card in ipairs(cards) do
    local taken = card.asks and take_asks(card) or NO_ASKS
    scores[2 * at - 1], scores[2 * at] = score, card.id
    claims[2 * at - 1], claims[2 * at] = card.id, struct.pack(CLAIM, first_token + at - 1, card.mask) .. taken
    told[at] = card.id .. ' ' .. card.mask .. ' ' .. card.failures
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
local urgent = lane(PRIORITY, room, {})
local regular = lane(QUEUE, room, by_id(urgent))
if #urgent + #regular == 0 then return { CLAIMED, 0, '' } end
local calls = #KEYS > 9 and calls_left(10, 6, horizon, room * TYPES) or room * TYPES
local chosen
chosen, credit = choose(urgent, regular, room, calls, tonumber(credit or 0))
if #chosen == 0 then return { CLAIMED, 0, '' } end

local first_token = math.max(tonumber(last_token or 0) + 1, now_microseconds)
redis.call('HSET', STATE, 'token', first_token + #chosen - 1, 'credit', credit)
return { CLAIMED, first_token, claim(chosen, first_token) }
