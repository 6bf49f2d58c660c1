// Package alloccompare compares what tests allocate at two revisions, by type and by function, and
// judges what grew.
package alloccompare
