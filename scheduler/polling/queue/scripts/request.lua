-- Asks for checks before their turn. ARGV: mask of types, after how many milliseconds, for how long the same scene may
-- not ask for the same card again, the scene; then the cards.
-- Returns of each card what became of it.

local UNKNOWN, COOLING, MERGED, ASKED_FOR, AFTER_THIS_RUN = 0, 1, 2, 3, 4
local mask, ready_at, cooldown, scene = tonumber(ARGV[1]), now + tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local cards = { unpack(ARGV, 5) }

local function cooling_of(card)
  return card .. ':' .. scene
end

local function is_cooling(card)
  return cooldown > 0 and redis.call('ZSCORE', COOLDOWNS, cooling_of(card))
end

-- Returns the requests of a card with the new one, and whether that changes any.
local function asked_too(before)
  local asks, is_news, rest = {}, false, mask
  for type = 1, TYPES do
    local is_wanted = rest % 2 == 1
    asks[type] = is_wanted and earlier(before[type], ready_at) or before[type]
    is_news = is_news or asks[type] ~= before[type]
    rest = math.floor(rest / 2)
  end
  return asks, is_news
end

local function ask(card, before, is_claimed)
  local asks, is_news = asked_too(read_asks(before))
  if cooldown > 0 then redis.call('ZADD', COOLDOWNS, now + cooldown, cooling_of(card)) end
  if not is_news then return MERGED end
  keep_asks(card, asks)
  if is_claimed then return AFTER_THIS_RUN end
  redis.call('ZADD', PRIORITY, asked_of(asks), card)
  return ASKED_FOR
end

redis.call('ZREMRANGEBYSCORE', COOLDOWNS, '-inf', now)
local kept, claims, asked, outcomes = fields(CARDS, cards), fields(CLAIMS, cards), fields(ASKED, cards), {}
for at, card in ipairs(cards) do
  if not kept[at] then
    outcomes[at] = UNKNOWN
  elseif is_cooling(card) then
    outcomes[at] = COOLING
  else
    outcomes[at] = ask(card, asked[at], claims[at])
  end
end
return outcomes
