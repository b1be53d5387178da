package redisstore

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

// The first error is Lua's, the second a command's: servers use different words for the place of each.
func TestScriptErrorsNameTheFileAndTheLine(t *testing.T) {
	broken := script.New(fstest.MapFS{
		"scripts/jobs/index.lua":   {Data: []byte("-- index.lua: index nothing.\n-- uses: nothing\nreturn first(KEYS[1])\n")},
		"scripts/jobs/command.lua": {Data: []byte("-- command.lua: read what is no list.\n-- uses: nothing\n\nreturn redis.call('LLEN', KEYS[1])\n")},
		"scripts/lib/nothing.lua":  {Data: []byte("-- nothing: a piece.\n\n-- first returns nothing's first.\nlocal function first(key)\n  local none = redis.call('HGET', key, 'none') or nil\n  return none[1]\nend\n")},
	}, "scripts")
	onEveryServer(t, func(b *bench) {
		b.client.HSet(b.Context(), b.keys().jobs, "a", "text")
		for _, c := range []struct{ name, want string }{
			{"jobs/index", "lib/nothing.lua:6: "},
			{"jobs/command", "jobs/command.lua:4"},
		} {
			s := broken.Load(c.name)
			_, err := b.store.runOne(b.Context(), "try", "default", newCall(&s, []string{b.keys().jobs}, nil))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "user_script") || strings.Contains(err.Error(), " :") {
				b.Errorf("%s: %v, want it to name %s", c.name, err, c.want)
			}
		}
	})
}
