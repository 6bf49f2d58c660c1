// Package corpus has the programs that AssertNoGrowth is tested with: programs that leak, one for
// each way to leak, and healthy programs that look a little like a leak. The tests of this package
// are the oldest programs, some with other modules. The packages below have the others, in tables
// of cases that package judge runs. The tests in the folder above run both.
package corpus
