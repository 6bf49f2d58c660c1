package doctor

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/envvar"
)

// surroundings are the machine and the toolchain that leakgate is tried on.
type surroundings struct {
	Leakgate   string `json:"leakgate"`
	System     string `json:"system"` // as in "linux/amd64"
	Kernel     string `json:"kernel,omitempty"`
	Processors int    `json:"processors"`
	Go         string `json:"go"` // the toolchain that the folder's module selects
	// Memory is how many bytes can be taken before MemoryLimit refuses them; -1 if no limit is
	// known.
	Memory      int64  `json:"memory"`
	MemoryLimit string `json:"memory_limit,omitempty"`
	Cache       string `json:"cache"`
}

// look reads the surroundings. The error comes from the go command.
func look(dir string, env []string) (surroundings, error) {
	s := surroundings{Leakgate: cli.Version(), Processors: runtime.NumCPU(), Cache: cacheFolder(), Memory: math.MaxInt64}
	goEnv, err := gotest.ReadGoEnv(dir, env)
	if err != nil {
		return s, err
	}
	s.Go, s.System = goEnv.GOVERSION, goEnv.GOOS+"/"+goEnv.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		s.Kernel = strings.TrimSpace(string(release))
	}
	for _, l := range (headroom.System{}).Limits() {
		if l.Room < s.Memory {
			s.Memory, s.MemoryLimit = max(0, l.Room), l.Name
		}
	}
	if s.MemoryLimit == "" {
		s.Memory = -1
	}
	return s, nil
}

// cacheFolder returns the folder for indexes of debug information, or why there is none.
func cacheFolder() string {
	if dir := envvar.Cache.Value(); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "none: " + err.Error()
	}
	return filepath.Join(dir, "leakgate")
}
