package outcome

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shard is one part of a run whose packages are spread over several machines.
type Shard struct {
	Index    int `json:"index"` // from 1
	Count    int `json:"count"`
	Packages int `json:"packages"` // of all shards together
}

// ParseShard reads "i/n".
func ParseShard(text string) (*Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return nil, fmt.Errorf("%q is no shard: write 1/3 for the first of three", text)
	}
	return &Shard{Index: i, Count: n}, nil
}

// String returns "i/n".
func (s *Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Part returns the elements of all that belong to the shard, in their order, and sets s.Packages to
// the number of all. Each element is in one shard. With more shards than elements, some shards have
// none.
func Part[T any](s *Shard, all []T) []T {
	s.Packages = len(all)
	var part []T
	for i := s.Index - 1; i < len(all); i += s.Count {
		part = append(part, all[i])
	}
	return part
}
