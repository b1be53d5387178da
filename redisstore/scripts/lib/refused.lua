-- refused: which jobs the last call of an enqueuer has refused: a copy of the call refuses the same ones, and its seal returns them.
-- Model: KNOWN in models/unknown.pml.
-- needs: callers clock

-- …:callers has these members for an enqueuer whose last call, or an earlier one, has refused jobs:
--   !<enqueuer>        the number of that call
--   !<enqueuer> <k>    its jobs 10 k + 1 to 10 k + 10, two bits each: 0 not refused, else why
-- Their scores have the second after that of the enqueuer's, and all removals begin with the lowest score. So they exist as long as the number
-- of this call. A call overwrites the members of all its jobs. Members beyond these are of an earlier, longer call, and nothing reads them.
local PER_MEMBER, STATES = 10, 4 -- STATES ^ PER_MEMBER = ROUND
local LATER = ROUND -- one second

-- refused_members returns how many members there are beside the first for a call of n jobs.
local function refused_members(n)
  return math.ceil(n / PER_MEMBER)
end

-- save_refused writes which of the n jobs of a call were refused. refused: position -> why, 1 to 3. callers: the key; score: that of the enqueuer after the call.
local function save_refused(callers, caller, score, n, refused)
  local second = score - score % ROUND + LATER
  local all = { whole(score + LATER), '!' .. caller }
  for k = 0, refused_members(n) - 1 do
    local bits = 0
    for i = PER_MEMBER, 1, -1 do bits = bits * STATES + (refused[k * PER_MEMBER + i] or 0) end
    all[#all + 1], all[#all + 2] = whole(second + bits), '!' .. caller .. ' ' .. k
  end
  redis.call('ZADD', callers, unpack(all))
end

-- read_refused returns what save_refused has written for the enqueuer's last call, with n jobs. score: that of the enqueuer.
local function read_refused(callers, caller, score, n)
  local names, refused = { '!' .. caller }, {}
  for k = 0, refused_members(n) - 1 do names[k + 2] = '!' .. caller .. ' ' .. k end
  local scores = redis.call('ZMSCORE', callers, unpack(names))
  if tonumber(scores[1] or 0) ~= score + LATER then return refused end -- the last call has refused nothing
  for k = 0, #names - 2 do
    local bits = tonumber(scores[k + 2] or 0) % ROUND
    for i = 1, PER_MEMBER do
      if bits % STATES > 0 then refused[k * PER_MEMBER + i] = bits % STATES end
      bits = math.floor(bits / STATES)
    end
  end
  return refused
end
