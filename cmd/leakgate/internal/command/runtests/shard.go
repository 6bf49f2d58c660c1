package runtests

import "github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"

// shardFlag is the flag -shard of leakgate run: nil if it is not given.
type shardFlag struct{ *outcome.Shard }

// String implements flag.Value.
func (f *shardFlag) String() string {
	if f.Shard == nil {
		return ""
	}
	return f.Shard.String()
}

// Set implements flag.Value.
func (f *shardFlag) Set(text string) (err error) {
	f.Shard, err = outcome.ParseShard(text)
	return err
}
