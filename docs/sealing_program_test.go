package docs_test

import (
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/redisstore"
)

func open(client redis.UniversalClient, file string) (chime.Store, error) {
	ring, err := chimeseal.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return chime.WithCodec(redisstore.New(client, redisstore.Options{}), ring, chime.CodecOptions{}), nil
}
