package foreign

import "github.com/leakgate/leakgate/internal/engine/capture/snapshot"

// AuditedByItself compares a snapshot with its own marks, which are those of the collection before,
// as an audit does with the marks of the next collection. By its own marks, all objects that no
// root leads to are alive.
func (p *Process) AuditedByItself() (objects, bytes int64, err error) {
	internal := (*snapshot.Snapshot)(p.Snapshot)
	u, err := internal.Unreached()
	if err != nil {
		return 0, 0, err
	}
	objects, bytes = u.AliveIn(internal.Model())
	return objects, bytes, nil
}
