package debuginfo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/internal/wholefile"
)

const (
	cacheBytes     = 512 << 20      // what all indexes together may take; the least recently used go first
	touchInterval  = time.Hour      // how exactly the cache knows what was used when
	orphanAge      = 24 * time.Hour // leftovers of killed processes are removed after that
	indexSuffix    = ".index"
	lockName       = "twin.lock"
	cacheSubfolder = "debuginfo"
)

// cache is a folder of index files, named by build ID and format version. Files appear by renaming and are never changed, so
// readers need no lock and a process may go on using a file that another one replaced or removed.
type cache struct {
	dir   string
	limit int64
}

// newCache returns the cache, or a warning if it cannot be used.
func newCache(opts Options) (*cache, string) {
	dir, err := cacheDir(opts)
	if err == nil && dir == "" {
		return nil, ""
	}
	if err == nil {
		dir = filepath.Join(dir, cacheSubfolder)
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return nil, fmt.Sprintf("no cache for debug information, so every run reads it again: %v", err)
	}
	return &cache{dir: dir, limit: cacheBytes}, ""
}

func (c *cache) file(buildID string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(imageVersion) + " " + buildID))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+indexSuffix)
}

// mappings are the index files that this process has mapped. They are never unmapped, because strings from them
// live on in reports; a process has one or two.
var mappings = struct {
	sync.Mutex
	open map[string]mapping
}{open: make(map[string]mapping)}

type mapping struct {
	info     fs.FileInfo
	contents *contents
}

// load maps the index of a program, and checks it unless this process did so before.
func (c *cache) load(buildID string) (*Index, error) {
	path := c.file(buildID)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	mappings.Lock()
	defer mappings.Unlock()
	if m, ok := mappings.open[path]; ok && os.SameFile(m.info, info) {
		return &Index{contents: m.contents}, nil
	}
	b, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	x, err := openFile(b)
	if err == nil && x.BuildID() != buildID {
		err = fmterr.Errorf("%w: made for another program", errNotIndex)
	}
	if err != nil {
		_ = unmap()
		return nil, err
	}
	mappings.open[path] = mapping{info, x.contents}
	if time.Since(info.ModTime()) > touchInterval {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // a read-only cache keeps its order
	}
	return x, nil
}

// store writes an index file and then makes room.
func (c *cache) store(buildID string, file []byte) error {
	path := c.file(buildID)
	if err := wholefile.WriteData(path, 0o600, file); err != nil {
		return err
	}
	c.trim(filepath.Base(path))
	return nil
}

// trim removes the indexes that were not used for longest until the rest fits, and what killed processes left.
// It cannot fail: what is not removed now is removed another time.
func (c *cache) trim(keep string) {
	dir, err := os.Open(c.dir)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1) // in any order: what was used when decides
	if err != nil {
		return
	}
	var (
		files []fs.FileInfo
		total int64
	)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		switch name := e.Name(); {
		case strings.HasSuffix(name, indexSuffix):
			files = append(files, info)
			total += info.Size()
		case strings.Contains(name, wholefile.TemporaryMark) && time.Since(info.ModTime()) > orphanAge:
			_ = os.RemoveAll(filepath.Join(c.dir, name))
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, f := range files {
		if total <= c.limit {
			return
		}
		if f.Name() == keep {
			continue
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}

// lock waits until no other process builds a twin, for no longer than limit. Where the system or the folder has no locks it does not wait:
// then several may build the same, which is slow but not wrong.
func (c *cache) lock(ctx context.Context, limit time.Duration) (unlock func(), err error) {
	const pause = 20 * time.Millisecond
	f, err := os.OpenFile(filepath.Join(c.dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return func() {}, nil //nolint:nilerr // a folder that cannot be written has no lock; see above
	}
	for deadline := time.Now().Add(limit); ; {
		switch locked, err := tryLock(f); {
		case err != nil:
			return func() { _ = f.Close() }, nil //nolint:nilerr // no locks here; see above
		case locked:
			return func() { _ = f.Close() }, nil
		case time.Now().After(deadline):
			_ = f.Close()
			return nil, context.DeadlineExceeded
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
