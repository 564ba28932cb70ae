-- Adds cards, or changes when they are due. A card that is claimed keeps its claim, and one that is asked for its
-- requests. ARGV of each card: card, and of each type when it is due and its failures, packed as in `cards`.
-- Returns how many are new.

local cards, texts = {}, {}
for at = 1, #ARGV, 2 do
  cards[#cards + 1], texts[#texts + 1] = ARGV[at], ARGV[at + 1]
end

local claims, asked, scores = fields(CLAIMS, cards), fields(ASKED, cards), {}
for at, card in ipairs(cards) do
  if claims[at] then
    redis.call('ZADD', QUEUE, redis.call('ZSCORE', RUNNING, card) or now, card)
  else
    scores[#scores + 1], scores[#scores + 2] = due_of(read_card(texts[at])), card
    if asked[at] then redis.call('ZADD', PRIORITY, asked_of(read_asks(asked[at])), card) end
  end
end
write('ZADD', QUEUE, scores)
return redis.call('HSET', CARDS, unpack(ARGV))
