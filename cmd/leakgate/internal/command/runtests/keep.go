package runtests

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/verdict"
)

// keepOptions say which artifacts a run keeps.
type keepOptions struct {
	which string // -artifacts
	most  int    // -max-artifacts
	size  size   // -max-artifacts-size
}

// Values of -artifacts.
const (
	keepFailed = "failed"
	keepAll    = "all"
	keepNone   = "none"
)

func (k *keepOptions) register(f *flag.FlagSet) {
	k.size = 200 << 20
	f.StringVar(&k.which, "artifacts", keepFailed, "")
	f.IntVar(&k.most, "max-artifacts", verdict.DefaultMax, "")
	f.Var(&k.size, "max-artifacts-size", "")
}

func (k *keepOptions) check() error {
	switch k.which {
	case keepFailed, keepAll, keepNone:
	default:
		return fmt.Errorf("-artifacts %s: it is failed, all or none", k.which)
	}
	if k.most < 0 {
		return fmt.Errorf("-max-artifacts %d: it must be 0 or more", k.most)
	}
	return nil
}

// environment returns the variables that tell test binaries which artifacts to keep. The limit
// applies to each test binary, and in the end to the run as a whole.
func (k *keepOptions) environment() []string {
	every, most := "", k.most
	switch k.which {
	case keepAll:
		every = "1"
	case keepNone:
		most = 0
	}
	return []string{envvar.ArtifactsAll.Set(every), envvar.ArtifactsMax.Set(strconv.Itoa(most))}
}

func (k *keepOptions) limits() artifacts.Limits {
	return artifacts.Limits{Assertions: k.most, Bytes: int64(k.size)}
}

// size is a number of bytes as a flag: 1000, 64KiB, 200MiB, 2GiB.
type size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s *size) String() string {
	for _, u := range sizeUnits {
		if n := int64(*s); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set implements flag.Value.
func (s *size) Set(text string) error {
	number, factor := text, int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, factor = n, u.bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return errors.New("it is a number of bytes, such as 64KiB, 200MiB or 2GiB")
	}
	*s = size(n * factor)
	return nil
}
