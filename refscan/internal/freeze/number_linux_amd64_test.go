package freeze

const sysSeccomp = 317
