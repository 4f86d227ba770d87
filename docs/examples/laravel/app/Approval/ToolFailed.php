<?php

declare(strict_types=1);

namespace App\Approval;

use RuntimeException;

/** The tool has not done it, and knows so. */
final class ToolFailed extends RuntimeException
{
}
