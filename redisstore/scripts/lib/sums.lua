-- sums: measurements of workers, as texts: "<key>:<number> <key>:<number>…" without zeros. The keys 0 to 15 are buckets of durations, by
-- length; a job name also has d, how many jobs succeeded, and f, how many attempts have failed.
-- needs: clock
local MAX_NAMES = 100 -- job names that are counted by name
local OTHER_NAMES = '?' -- the name for the others

-- add_sums returns the sums of two texts; a part that cannot be read is ignored.
local function add_sums(one, other)
  if not one or one == '' then return other or '' end
  local keys, sums = {}, {}
  for _, text in ipairs({ one, other }) do
    for key, n in string.gmatch(text, '(%w+):(%d+)') do
      if not sums[key] then keys[#keys + 1] = key end
      sums[key] = math.min((sums[key] or 0) + tonumber(n), 1e15)
    end
  end
  for i, key in ipairs(keys) do keys[i] = key .. ':' .. whole(sums[key]) end
  return table.concat(keys, ' ')
end
