// Package holds has programs that keep memory in a bounded root and elsewhere as well: leaks that
// something else holds, too, which have to fail, and healthy ones with shared memory behind the
// root, which have to pass.
package holds
