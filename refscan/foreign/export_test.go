package foreign

import "github.com/leakgate/leakgate/internal/engine/snapshot"

// AuditedByItself compares a snapshot with its own marks, those of the collection before, as an
// audit does with those of the next one: all that nothing leads to is alive there.
func (p *Process) AuditedByItself() (objects, bytes int64, err error) {
	internal := (*snapshot.Snapshot)(p.Snapshot)
	u, err := internal.Unreached()
	if err != nil {
		return 0, 0, err
	}
	objects, bytes = u.AliveIn(internal.Model())
	return objects, bytes, nil
}
