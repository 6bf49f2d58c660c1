package artifacts

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/leakgate/leakgate/internal/verdict"
)

// Limits bound the files that a run leaves besides its records.
type Limits struct {
	Assertions int   // assertions that keep their files
	Bytes      int64 // total size of these files
}

// Limit removes files of records beyond the limits, and returns a sentence that says so, "" if all
// stay. Failed assertions come first, then unknown ones, then those that passed; among equals the
// order of records decides. A record keeps all its files or none.
func (d *Dir) Limit(records []Record, l Limits) (note string, err error) {
	order := make([]int, len(records))
	for i := range order {
		order[i] = i
	}
	rank := map[verdict.Verdict]int{verdict.Fail: 0, verdict.Unknown: 1, verdict.Pass: 2}
	sort.SliceStable(order, func(i, j int) bool {
		return rank[records[order[i]].Result.Verdict] < rank[records[order[j]].Result.Verdict]
	})
	kept, dropped := 0, 0
	var total int64
	for _, i := range order {
		files := records[i].Result.Artifacts
		if len(files) == 0 {
			continue
		}
		size := d.size(files)
		if kept < l.Assertions && total+size <= l.Bytes {
			kept++
			total += size
			continue
		}
		dropped++
		for kind, file := range files {
			if err := os.Remove(filepath.Join(d.Path, filepath.FromSlash(file))); err != nil {
				return "", fmt.Errorf("removing artifacts beyond the limit: %w", err)
			}
			delete(files, kind)
		}
	}
	if dropped == 0 {
		return "", nil
	}
	return fmt.Sprintf("the artifacts of %d of %d assertions were dropped: the limit is %d assertions and %d bytes (-max-artifacts, -max-artifacts-size)",
		dropped, dropped+kept, l.Assertions, l.Bytes), nil
}

// size returns the total size of a record's files, in bytes.
func (d *Dir) size(files map[string]string) int64 {
	var n int64
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(d.Path, filepath.FromSlash(file))); err == nil {
			n += info.Size()
		}
	}
	return n
}
