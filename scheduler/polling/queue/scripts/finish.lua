-- Ends claims with what came of them. ARGV of each card: card, token, and of each type when it is due next and its
-- failures, packed as in `cards` (KEPT_DUE, KEPT_FAILURES: as they were).
-- Returns 1 for each card, or 0 where the claim is another's by now, or gone, or the card is: then nothing changes.

local KEPT_DUE, KEPT_FAILURES = 2 ^ 48 - 1, 2 ^ 16 - 1

-- The news, completed by what is known of the card.
local function completed(news, text)
  local card, is_complete = read_card(news), true
  local known
  for at = 1, 2 * TYPES do
    if card[at] == (at % 2 == 1 and KEPT_DUE or KEPT_FAILURES) then
      known = known or read_card(text)
      card[at], is_complete = known[at], false
    end
  end
  return card, is_complete and news or struct.pack(CARD, unpack(card, 1, 2 * TYPES))
end

local cards, tokens, news = {}, {}, {}
for at = 1, #ARGV, 3 do
  cards[#cards + 1], tokens[#tokens + 1], news[#news + 1] = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
end

local claims, kept = fields(CLAIMS, cards), fields(CARDS, cards)
local accepted, is_ended, ended, scores, texts = {}, {}, {}, {}, {}
for at, id in ipairs(cards) do
  local is_current = claims[at] and kept[at] and not is_ended[id] and struct.unpack(CLAIM, claims[at]) == tokens[at]
  accepted[at] = is_current and 1 or 0
  if is_current then
    local card, text = completed(news[at], kept[at])
    ended[#ended + 1], is_ended[id] = id, true
    scores[#scores + 1], scores[#scores + 2] = due_of(card), id
    texts[#texts + 1], texts[#texts + 2] = id, text
  end
end

if #ended > 0 then
  redis.call('HSET', CARDS, unpack(texts))
  end_claims(ended, scores)
  redis.call('HINCRBY', STATE, 'finished', #ended)
end
if #ended < #cards then redis.call('HINCRBY', STATE, 'stale_finish', #cards - #ended) end
return accepted
