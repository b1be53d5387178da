-- shapes: the hash …:shapes, what the last failed attempts have in common. "<job name>\t<hash of the shape, 16 hexadecimal digits>" ->
-- "<failed attempts> <the first and the last, Unix ms>\t<hour>:<failed attempts>,…\t<version>=<failed attempts>,…\t<ID of the job that failed last>\t<shape>".
-- A shape is an error without the parts that differ from job to job; empty: it is not known, because errors are sealed, or there were too many shapes.
-- hour is in hours since 1970: those with failures of the last MAX_HOURS. versions are those of programs, the last MAX_VERSIONS, the newest last.
-- The hash has at most MAX_SHAPES fields with MAX_SHAPE_BYTES: those that have not failed for longest are removed.
-- needs: clock strings
local MAX_SHAPES, MAX_SHAPE_BYTES, MAX_HOURS, MAX_VERSIONS = 100, 32768, 24, 3

-- counted adds n to the count of a key in a list "<key><sep><count>,…", and moves the key to its end. Returns the list with the other keys
-- for which the function keeps is true, cut to a number of last entries, limit.
local function counted(text, sep, key, n, limit, keeps)
  local list = {}
  for other, count in string.gmatch(text, '([^,' .. sep .. ']+)' .. sep .. '(%d+)') do
    if other == key then
      n = n + tonumber(count)
    elseif keeps(other) then
      list[#list + 1] = other .. sep .. count
    end
  end
  list[#list + 1] = key .. sep .. whole(math.min(n, 1e15))
  return table.concat(list, ',', math.max(1, #list - limit + 1))
end

-- add_shape returns the value of a field after new failures: counts is "<failed attempts> <the first and the last, Unix ms>". An instant that is ahead of
-- the clock counts as now.
local function add_shape(stored, counts, version, id, shape)
  local more, since, last = match(counts, '^(%d+) (%d+) (%d+)$')
  local n, first, before, hours, versions = match(stored or '', '^(%d+) (%d+) (%d+)\t([^\t]*)\t([^\t]*)\t')
  more, since, last = tonumber(more), math.min(tonumber(since), now_ms), math.min(tonumber(last), now_ms)
  local hour = math.floor(last / 3600000)
  hours = counted(hours or '', ':', whole(hour), more, MAX_HOURS, function(other) return tonumber(other) > hour - MAX_HOURS end)
  if version ~= '' then
    versions = counted(versions or '', '=', version, more, MAX_VERSIONS, function() return true end)
  end
  return whole(math.min(tonumber(n or 0) + more, 1e15)) .. ' ' .. whole(math.min(tonumber(first or since), since)) .. ' ' ..
    whole(math.max(tonumber(before or 0), last)) .. '\t' .. hours .. '\t' .. (versions or '') .. '\t' .. id .. '\t' .. shape
end

-- too_many returns the fields to remove so that the hash keeps its bounds with the changed ones. It takes those that are to be removed out of changed.
local function too_many(shapes, changed)
  local all, place, order, removed, size = redis.call('HGETALL', shapes), {}, {}, {}, 0
  for i = 1, #changed, 2 do all[#all + 1], all[#all + 2] = changed[i], changed[i + 1] end
  for i = 1, #all, 2 do -- a changed field comes again, with its new value
    place[all[i]] = { field = all[i], value = all[i + 1], last = tonumber(match(all[i + 1], '^%d+ %d+ (%d+)\t') or 0), size = #all[i] + #all[i + 1] }
  end
  for _, entry in pairs(place) do order[#order + 1] = entry end
  table.sort(order, function(a, b) return a.last > b.last or a.last == b.last and a.field < b.field end)
  for i, entry in ipairs(order) do
    size = size + entry.size
    if (i > MAX_SHAPES or size > MAX_SHAPE_BYTES) and #removed < 400 then
      removed[#removed + 1], place[entry.field] = entry.field, nil
    end
  end
  local kept = {}
  for i = 1, #changed, 2 do
    if place[changed[i]] then kept[#kept + 1], kept[#kept + 2] = changed[i], changed[i + 1] end
  end
  return kept, removed
end

-- add_shapes returns the fields that change in the hash shapes, with their values; the fields to remove from it; and the position after its arguments.
-- args has from the position at on: a number, then as many times: field, counts, version, ID, shape, see add_shape. It writes nothing.
local function add_shapes(shapes, args, at)
  local n, fields, changed = tonumber(args[at]), {}, {}
  if n == 0 then return changed, {}, at + 1 end
  for i = 1, n do fields[i] = args[at - 4 + 5 * i] end
  local stored, new = redis.call('HMGET', shapes, unpack(fields)), false
  for i, field in ipairs(fields) do
    local values = at - 4 + 5 * i
    changed[2 * i - 1], changed[2 * i] = field, add_shape(stored[i], args[values + 1], args[values + 2], args[values + 3], args[values + 4])
    new = new or not stored[i]
  end
  local removed = {}
  if new then changed, removed = too_many(shapes, changed) end
  return changed, removed, at + 1 + 5 * n
end
