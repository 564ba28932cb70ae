-- Gives claims back as if they had not been made. ARGV of each card: card, token.
-- Returns 1 for each card, or 0 where the claim is another's by now or gone.

local cards, tokens = {}, {}
for at = 1, #ARGV, 2 do
  cards[#cards + 1], tokens[#tokens + 1] = ARGV[at], tonumber(ARGV[at + 1])
end

local claims, released = fields(CLAIMS, cards), {}
local current, texts = {}, {}
for at, card in ipairs(cards) do
  local is_current = claims[at] and struct.unpack(CLAIM, claims[at]) == tokens[at]
  released[at] = is_current and 1 or 0
  if is_current then current[#current + 1], texts[#texts + 1] = card, claims[at] end
end
if #current > 0 then
  give_back(current, texts)
  redis.call('HINCRBY', STATE, 'released', #current)
end
return released
