-- settlements: which settlements of the call count, and how many jobs the limit of the queue allows. A section of work.lua.

------------------------------------------------------------------------------------------- read and check: the settlements

-- A settlement counts if the session holds the job with the given fence. The finished jobs for which this is true are
-- ended[ended_from] to ended[ended_to]. If the job was cancelled meanwhile, "!" is before the fence, and
-- the job ends with any settlement: cancels has three values for each such job: its ID, the record of its
-- attempt, and the index of its settlement among the others (0: none of them; below 0: the index among the finished jobs, whose result is kept).
-- If it was replaced meanwhile, "+" is before the fence: cancels.replaced has three values for each: its ID, the kind of its settlement, and its index.
local ended, ended_from, ended_to = ARGV, at_id + 1, at_id + finished
local cancels -- nil: none
local flying, others_held, refused = {}, {}, {} -- flying: jobs in flight with their fences, as they will be written
if again then
  ended_to = at_id
else
  local out = refused -- which of the finished jobs are not among ended
  for i = 1, finished do
    local fence, holds = ARGV[at_fence + i], held[i + 1]
    if holds ~= fence and holds ~= '-' .. fence then
      if holds == '!' .. fence or holds == '+' .. fence then
        if out == refused then out = { unpack(refused) } end
        cancels = cancels or { replaced = {} }
        local those, mark = cancels, ''
        if holds ~= '!' .. fence then those, mark = cancels.replaced, 'd' end
        local n = #those
        those[n + 1], those[n + 2], those[n + 3] = ARGV[at_id + i], mark, keeps and i > finished - keeps.n and -i or 0
      else
        refused[#refused + 1] = i
      end
      if out ~= refused then out[#out + 1] = i end
      if keeps then keeps.without[i - finished + keeps.n] = true end
      if follows then follows.without[i - follows.first] = true end
    end
  end
  if #out > 0 then
    local first, n, r = at_id, 0, 1
    ended, ended_from, ended_to = {}, 1, finished - #out
    for i = 1, finished do
      if out[r] == i then
        r = r + 1
      else
        n = n + 1
        ended[n] = ARGV[first + i]
      end
    end
  end
  local n_flying = 0
  for i = finished + 1, finished + begun do
    local fence = ARGV[at_fence + i]
    if held[i + 1] == '-' .. fence then
      flying[n_flying + 1], flying[n_flying + 2] = ARGV[at_id + i], fence
      n_flying = n_flying + 2
    end
  end
  for i = 1, others do
    local fence, holds = ARGV[at_fence + finished + begun + i], held[finished + begun + i + 1]
    if holds == fence or holds == '-' .. fence then
      others_held[#others_held + 1] = i
    elseif holds == '!' .. fence or holds == '+' .. fence then
      cancels = cancels or { replaced = {} }
      local those, mark = cancels, ARGV[at_other + 4 * i]
      if holds ~= '!' .. fence then those, mark = cancels.replaced, ARGV[at_other + 4 * i - 3] end
      local n = #those
      those[n + 1], those[n + 2], those[n + 3] = ARGV[at_id + finished + begun + i], mark, i
    else
      refused[#refused + 1] = finished + i
    end
  end
end

-- A member of a cancelled batch does not come back. Its settlement becomes that of a cancelled job here, before anything else reads it. So whoever cancels the
-- members finds each of them, in the order in which jobs move: delayed or parked, waiting, in flight.
if annexes > 0 and #sends > 1 and not again then
  local function end_members()
    local BATCHES, batches, at = #KEYS - 1, {}, {}
    for i = at_other + 4 * others + 1, at_other + 4 * others + 3 * annexes, 3 do
      local first = at_other + 4 * ARGV[i] - 3
      if ARGV[i + 1] == 'b' and string.find('flbp', ARGV[first], 1, true) then batches[#batches + 1], at[#at + 1] = ARGV[i + 2], first end
    end
    for i, counts in ipairs(batches[1] and redis.call('HMGET', KEYS[BATCHES], unpack(batches)) or {}) do
      if string.find(counts or '', '^[%d%- ]+ [ce]*x') then ARGV[at[i]], ARGV[at[i] + 1], ARGV[at[i] + 2] = 'c', '', '' end
    end
  end
  end_members()
end

------------------------------------------------------------------------------------------- read: the limit of the queue

local limit, horizon, limit_line -- nil: the queue has no limit; else see lib/queuelimit.lua
local slots, flights_before = want, 0 -- how many slots the caller has free
local group_pieces -- returns the functions for groups
if state[9] or state[11] or joins or cancels and cancels.replaced[1] then
  -- uses: queuelimit
  group_pieces = function()
    -- uses: starts line groups light turns joins
    return { open_groups = open_groups, read_groups = read_groups, end_light = end_light, find_blockers = find_blockers, end_flights = end_flights,
      starts_of = starts_of, return_turn = return_turn, unblock = unblock, add_waiting = add_waiting,
      place_now = place_now, NO_PLACE = NO_PLACE, bounce_parked = bounce_parked, split_due = split_due, prepare_turns = prepare_turns,
      share_out = share_out, pick_turns = pick_turns, keep_picks = keep_picks, read_picked = read_picked, save_joins = save_joins, tune_groups = tune_groups,
      enter_line = enter_line, line_member = line_member, place_in_front = place_in_front, is_occurrence = is_occurrence, split_ready = split_ready,
      give_way = give_way, leave_groups = leave_groups }
  end
  if state[9] then
    limit, horizon, limit_line = read_limit(state[9]), next_start, limit_text
    slots = math.max(want - ahead, 0)
    if not again then
      local back = 0 -- jobs that were taken and have not begun
      for _, i in ipairs(others_held) do
        local at = at_other + 4 * i - 3
        local n = finished + begun + i
        if held[n + 1] == ARGV[at_fence + n] and gives_back(limit, ARGV[at], ARGV[at + 1], ARGV[at_fence + n]) then back = back + 1 end
      end
      flights_before = redis.call('HLEN', INFLIGHT)
      local ending = ended_to - ended_from + 1 + #others_held + (cancels and (#cancels + #cancels.replaced) / 3 or 0)
      local begin = math.min(slots, allowance(limit, ending, back))
      local room = room_ahead(limit, ending - begin)
      want, ahead, limit.far = begin + math.min(ahead, room), math.min(ahead, room), room > 0
      limit.was, limit.back, limit.count = limit.state, back, count_flights
    end
  end
end
