-- Stands before each script.
--
-- KEYS: those of the account, in the order of keys.py; claim has the limiter's behind them.
-- Instants are whole milliseconds of this server, 0 stands for none. TYPES is how many types of checks there are;
-- sets of types are masks, with the bit of the first type lowest.
--
-- What always holds, and what the scripts mend where something was lost:
--   queue     each card, at the instant when it is due by its schedule; while it is claimed, at the end of its lease
--   cards     each card: of each type when it is due and how often it failed
--   asked     cards with requests that wait: of each type from when it is asked for
--   priority  those of them that are not claimed, at the earliest of these instants
--   running   each claimed card, at the end of its lease
--   claims    each claimed card: token, types, the requests that the claim took along, executor ('' until it is started)

local READY, QUEUE, CARDS, ASKED, PRIORITY, RUNNING, CLAIMS, STATE, COOLDOWNS = unpack(KEYS, 1, 9)
local CARD = '>' .. string.rep('I6I2', TYPES)
local ASKS = '>' .. string.rep('I6', TYPES)
local CLAIM = '>I8B'
local CLAIM_SIZE, ASKS_SIZE = 9, 6 * TYPES
local NO_ASKS = string.rep('\0', ASKS_SIZE)

local time = redis.call('TIME')
local now_microseconds = time[1] * 1000000 + time[2]
local now = math.floor(now_microseconds / 1000)

-- Returns due and failures of each type in turn.
local function read_card(text)
  return { struct.unpack(CARD, text) }
end

local function read_asks(text)
  return { struct.unpack(ASKS, text or NO_ASKS) }
end

local function read_claim(text)
  local token, mask = struct.unpack(CLAIM, text)
  return {
    token = token,
    mask = mask,
    asks = string.sub(text, CLAIM_SIZE + 1, CLAIM_SIZE + ASKS_SIZE),
    executor = string.sub(text, CLAIM_SIZE + ASKS_SIZE + 1)
  }
end

local function write_claim(claim)
  return struct.pack(CLAIM, claim.token, claim.mask) .. claim.asks .. claim.executor
end

-- The earlier of two instants, where 0 is none.
local function earlier(one, other)
  if one == 0 then return other end
  if other == 0 then return one end
  return math.min(one, other)
end

-- When a card is due by its schedule, as a score.
local function due_of(card)
  local due = 0
  for at = 1, 2 * TYPES, 2 do due = earlier(due, card[at]) end
  return due > 0 and due or '+inf'
end

-- From when a card is asked for; 0: it is not.
local function asked_of(asks)
  local asked = 0
  for at = 1, TYPES do asked = earlier(asked, asks[at]) end
  return asked
end

local function merged(one, other)
  local asks = {}
  for at = 1, TYPES do asks[at] = earlier(one[at], other[at]) end
  return asks
end

-- Returns a field of some cards. A hash that is empty, as `asked` mostly is, costs next to nothing.
local function fields(key, cards)
  if redis.call('HLEN', key) == 0 then return {} end
  return redis.call('HMGET', key, unpack(cards))
end

-- Calls a command with pairs, if there are any.
local function write(command, key, pairs_)
  if #pairs_ > 0 then redis.call(command, key, unpack(pairs_)) end
end

-- Keeps what a card is asked for.
local function keep_asks(card, asks)
  if asked_of(asks) > 0 then
    redis.call('HSET', ASKED, card, struct.pack(ASKS, unpack(asks, 1, TYPES)))
  else
    redis.call('HDEL', ASKED, card)
  end
end

-- Ends claims: the cards are due at the given scores, and those that were asked for meanwhile have priority.
-- Scores are pairs of score and card.
local function end_claims(cards, scores)
  redis.call('ZREM', RUNNING, unpack(cards))
  redis.call('HDEL', CLAIMS, unpack(cards))
  write('ZADD', QUEUE, scores)
  local asked = fields(ASKED, cards)
  for at, card in ipairs(cards) do
    if asked[at] then redis.call('ZADD', PRIORITY, asked_of(read_asks(asked[at])), card) end
  end
end

-- Ends claims as if they had never been made. `claims` are their texts, false where a claim was lost.
local function give_back(cards, claims)
  local kept, asked, scores = fields(CARDS, cards), fields(ASKED, cards), {}
  for at, card in ipairs(cards) do
    local taken = claims[at] and read_claim(claims[at]).asks or NO_ASKS
    if kept[at] then
      scores[#scores + 1], scores[#scores + 2] = due_of(read_card(kept[at])), card
      if taken ~= NO_ASKS then keep_asks(card, merged(read_asks(taken), read_asks(asked[at]))) end
    end
  end
  end_claims(cards, scores)
end

-- Takes the executor into the claims of which `accepts` says so, and lets their leases begin anew. ARGV: executor,
-- lease, then of each card: card, token. Returns 1 or 0 for each.
local function hold(accepts)
  local executor, lease_end = ARGV[1], now + tonumber(ARGV[2])
  local cards = {}
  for at = 3, #ARGV, 2 do cards[#cards + 1] = ARGV[at] end
  local claims, held, scores, texts = fields(CLAIMS, cards), {}, {}, {}
  for at, card in ipairs(cards) do
    local claim = claims[at] and read_claim(claims[at])
    held[at] = 0
    if claim and claim.token == tonumber(ARGV[2 * at + 2]) and accepts(claim, executor) then
      claim.executor, held[at] = executor, 1
      scores[#scores + 1], scores[#scores + 2] = lease_end, card
      texts[#texts + 1], texts[#texts + 2] = card, write_claim(claim)
    end
  end
  write('ZADD', RUNNING, scores)
  write('ZADD', QUEUE, scores)
  write('HSET', CLAIMS, texts)
  return held
end

