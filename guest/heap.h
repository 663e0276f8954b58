/* heap.h: malloc and its family, in linear memory; in place of the C library's, which rounds large blocks up to powers of
 * two and spreads small ones over pages by their size.
 *
 * What is allocated one after the other lies side by side: a short program writes to few pages, and few pages are put
 * back after it, or kept in a snapshot. */
#ifndef MODEBOX_HEAP_H
#define MODEBOX_HEAP_H

/* Free blocks between those of the base image are left alone from now on: to use them would touch its pages. */
void heap_close_image(void);

#endif
